// The page's first script: it gathers what goes wrong on the page in `window.__problems`, shows how much that
// is, and says so when the program itself does not start (its modules cannot tell when they do not load). It also
// sets the theme, so that nothing is drawn in another one first.
"use strict";
window.__problems = [];

{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let theme = "system";
  const apply = () => (document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme);
  dark.addEventListener("change", apply);
  /** `system`, `light` or `dark`. */
  window.setTheme = (chosen) => {
    theme = chosen;
    apply();
  };
  apply();
}

(() => {
  const tell = (problem) => {
    window.__problems.push(problem);
    const counter = document.getElementById("problems");
    if (!counter) return; // still loading; shown below
    counter.hidden = false;
    counter.textContent = `${window.__problems.length} page problem${window.__problems.length > 1 ? "s" : ""}`;
    counter.title = window.__problems.slice(-20).join("\n");
  };

  window.addEventListener("error", (event) => {
    const { target } = event;
    if (target instanceof HTMLElement) {
      tell(`load: ${target.localName} ${target.src || target.href || ""}`);
      if (target.localName === "script") window.showFailure(`${target.src} did not load.`);
    } else tell(`error: ${event.message}`);
  }, true);
  window.addEventListener("unhandledrejection", (event) => tell(`rejection: ${event.reason?.message ?? event.reason}`));
  document.addEventListener("securitypolicyviolation", (event) => tell(`csp: ${event.violatedDirective} ${event.blockedURI}`));
  document.addEventListener("DOMContentLoaded", () => {
    if (window.__problems.length) tell(window.__problems.pop());
  });

  /** Shows, in place of the chat, that the program did not start, and why. */
  window.showFailure = (reason) => {
    const show = () => {
      document.getElementById("failure").hidden = false;
      document.getElementById("app").hidden = true;
      document.getElementById("reason").textContent = reason;
    };
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", show);
    else show();
  };
})();
