// How the chat is shown: its theme, its language, its width.

/** Lets the page's controls rule over `views` of rows.js. */
export function settings(views) {
  const [theme, language, narrow] = ["theme", "language", "narrow"].map((id) => document.getElementById(id));

  theme.addEventListener("change", () => window.setTheme(theme.value));

  async function speak() {
    const locale = language.value;
    const { default: catalogue } = await import(`./locales/${locale}.js`);
    if (language.value !== locale) return; // chosen again meanwhile
    for (const view of views) view.setCatalogue(catalogue, locale);
    for (const id of ["log", "panels"]) document.getElementById(id).lang = locale;
  }
  language.addEventListener("change", speak);

  narrow.addEventListener("click", () => {
    const is = narrow.ariaPressed !== "true";
    narrow.ariaPressed = String(is);
    document.getElementById("app").toggleAttribute("data-narrow", is);
  });

  // A browser keeps what was chosen over a reload.
  window.setTheme(theme.value);
  if (language.value !== "en") speak();
}
