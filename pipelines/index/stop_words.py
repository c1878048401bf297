"""Words too common to search for, by language, folded as ``tokens`` folds; only queries drop them, texts keep all."""

from __future__ import annotations

from typing import Final

# Small on purpose. A word that means something in another of these languages (war, man, son, car, or) is left out:
# a query is short, and losing its one telling word costs more than keeping a common one.
_WORDS: Final = {
    "en": """a about after all am an and any are as at be because been before being but by can could did do does doing
        for from had has have having he her here hers him his how i if in into is it its just me more most my no nor not
        of off on once only our ours out over own s same she should so some such t than that the their theirs them then
        there these they this those through to too under until up very was we were what when where which while who whom
        why will with would you your yours""",
    "de": """aber als am an auch auf aus bei bin bis bist da damit dann das dass dem den der des die dies diese dieser
        dieses doch du ein eine einem einen einer eines er es euch fur habe haben hatte hatten ich ihm ihn ihr ihre im
        in ist ja jede jeder jedes kann kein keine mein meine mich mir mit nach nicht noch nur ob oder ohne sehr sein
        seine sich sie sind so uber um und uns unser unter vom von vor wann was wenn wer werden wie wir wird wo zu zum
        zur""",
    "es": """a al algo ante como con cual cuando de del desde donde el ella ellas ellos en entre era es esa ese eso esta
        este esto estos fue ha hasta hay la las le les lo los mas me mi mis mucho muy nada ni no nos o os otra otro para
        pero poco por porque que quien se ser si sin sobre su sus tambien te tiene todo tu tus un una uno unos y ya
        yo""",
    "fr": """a au aux avec ce ces cet cette comme d dans de des du elle elles en est et eu il ils j je l la le les leur
        lui ma mais me mes moi ne nos notre nous on ou par pas pour qu que quel quelle qui sa sans se ses si sont
        sur ta te tes toi tu un une vos votre vous y""",
}

STOP_WORDS: Final = {language: frozenset(words.split()) for language, words in _WORDS.items()}
