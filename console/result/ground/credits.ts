type Credit = Readonly<{ text: string; href?: string }>

/** The attributions of a map in one line. They are HTML, of which only the text and the web links are used. */
export function creditNodes(attributions: readonly string[]): readonly Node[] {
  const known = [...new Set(attributions.map((text) => text.trim()))].filter((text) => text !== '')
  return known.flatMap((html, at) => [
    ...(at > 0 ? [document.createTextNode(' · ')] : []),
    ...creditsOf(html.slice(0, 2000)).map(nodeOf),
  ])
}

function creditsOf(html: string): readonly Credit[] {
  const credits: Credit[] = []
  let done = 0
  for (const { 0: whole, 1: href = '', 2: inside = '', index } of html.matchAll(link)) {
    credits.push({ text: textOf(html.slice(done, index)) }, { text: textOf(inside), href: textOf(href) })
    done = index + whole.length
  }
  return [...credits, { text: textOf(html.slice(done)) }].filter(({ text }) => text !== '')
}

const link = /<a\s[^>]*?\bhref\s*=\s*["']?(https?:[^"'\s>]+)[^>]*>([\s\S]*?)<\/a\s*>/gi

function nodeOf({ text, href }: Credit): Node {
  if (href === undefined) return document.createTextNode(text)
  const shown = document.createElement('a')
  Object.assign(shown, { href, textContent: text, target: '_blank', rel: 'noopener noreferrer' })
  return shown
}

const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (whole, decimal, hex, name) => {
      if (name !== undefined) return entities[name] ?? whole
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    })

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  middot: '·',
}
