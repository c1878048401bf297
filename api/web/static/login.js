// Takes the one-time code from behind the "#", forgets it there, and sends it as the form would.
const code = new URLSearchParams(location.hash.slice(1)).get("code");
if (code) {
  history.replaceState(null, "", location.pathname);
  const form = document.querySelector("form.login");
  form.elements.code.value = code;
  form.requestSubmit();
}
