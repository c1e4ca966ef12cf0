const [selector] = arguments;
const seen = ((window.__seen ??= {})[selector] = []);
const look = () => {
  const text = document.querySelector(selector)?.textContent;
  if (text !== undefined && text !== seen.at(-1)) seen.push(text);
};
look();
new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
