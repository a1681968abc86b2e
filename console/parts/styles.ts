/** Puts the styles of a page or part into the document, once, when its code is loaded. */
export function adoptStyles(css: string): void {
  document.adoptedStyleSheets.push(sheetOf(css))
}

/** For a shadow root. */
export function sheetOf(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  return sheet
}
