import { signal } from '@preact/signals'
import { servicePath } from './address.ts'

const root = `${servicePath}/console`

/** The path of the page under `/console`, such as `/tables/public/airports/columns`. */
export const path = signal(readPath())

/** The fragment, with its `#`. Browsers never send it to the service. */
export const fragment = signal(location.hash)

/** The segments of a path, decoded: a table name may contain any character. */
export const segmentsOf = (text: string) => text.split('/').filter(Boolean).map(decodeURIComponent)

/** A path of segments, each encoded. */
export const pathTo = (...segments: string[]) => `/${segments.map(encodeURIComponent).join('/')}`

/** The `href` of a link to a page of the console. */
export const hrefOf = (to: string) => `${root}${to}`

export function navigate(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', hrefOf(to))
  else history.pushState(null, '', hrefOf(to))
  readAddress()
}

/** Handles clicks on links within the console. Other links, and those for a new tab, are left to the browser. */
export function followLinks(): void {
  addEventListener('popstate', readAddress)
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = (event.target as Element).closest?.('a')
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
    if (link.pathname !== root && !link.pathname.startsWith(`${root}/`)) return
    event.preventDefault()
    navigate(link.pathname.slice(root.length) + link.search + link.hash)
  })
}

function readAddress(): void {
  path.value = readPath()
  fragment.value = location.hash
}

function readPath(): string {
  return location.pathname.startsWith(root) ? location.pathname.slice(root.length) || '/' : '/'
}
