"""What narthex costs, measured beside the physical limits of the same machine in the same run."""
