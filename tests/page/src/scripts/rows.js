function rows() {
  const text = (el, selector) => el.querySelector(`:scope > .cr-body ${selector}`)?.textContent ?? "";
  const visible = (el) => el !== null && el.checkVisibility({ opacityProperty: true }) && el.getBoundingClientRect().width > 0;
  return [...document.querySelectorAll("#log [data-row]")].map((el) => ({
    role: el.getAttribute("role"),
    name: el.getAttribute("aria-label"),
    kind: el.dataset.kind,
    state: el.dataset.state,
    busy: el.getAttribute("aria-busy") === "true",
    spinner: visible(el.querySelector(":scope > .cr-body .cr-spinner")),
    text: text(el, ".cr-text"),
    title: text(el, ".cr-title"),
    bytes: text(el, ".cr-bytes"),
    fields: [...el.querySelectorAll(".cr-field")].map((field) => [field.querySelector("dt").textContent, field.querySelector("dd").textContent]),
    output: text(el, ".cr-output .cr-code"),
    error: text(el, ".cr-error"),
    flags: [...el.querySelectorAll(".cr-flag")].map((flag) => flag.textContent),
    choice: el.querySelector(":scope > .cr-choice")?.textContent ?? "",
  }));
}
