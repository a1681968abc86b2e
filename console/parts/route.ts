import { signal } from '@preact/signals'
import { servicePath } from './address.ts'

const root = `${servicePath}/console`

/** The path of the page under `/console`, such as `/tables/public/airports/columns`. */
export const path = signal(readPath())

/** What stands after `#`: it never reaches the service. */
export const fragment = signal(location.hash)

/** The parts of a path, decoded: names of tables may hold anything. */
export const segmentsOf = (text: string) => text.split('/').filter(Boolean).map(decodeURIComponent)

/** Makes a path of names, whatever is in them. */
export const pathTo = (...segments: string[]) => `/${segments.map(encodeURIComponent).join('/')}`

/** What a link to a page has as its `href`. */
export const hrefOf = (to: string) => `${root}${to}`

export function navigate(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', hrefOf(to))
  else history.pushState(null, '', hrefOf(to))
  readAddress()
}

/** Links to pages change the page; what leads elsewhere, or into another tab, stays the browser's. */
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
