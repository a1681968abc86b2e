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

/** Called instead of opening another page. To open it anyway, the guard removes itself and calls `leave`. */
export type LeaveGuard = (leave: () => void) => void

let guard: LeaveGuard | undefined

/** Active until `guardLeaving(undefined)`: one guard at a time. */
export function guardLeaving(next: LeaveGuard | undefined): void {
  guard = next
}

/** If a guard holds it back, the page is opened later or never. `open` is called instead of opening the page. */
export function navigate(
  to: string,
  {
    replace = false,
    open = () => {
      if (replace) history.replaceState(null, '', hrefOf(to))
      else history.pushState(null, '', hrefOf(to))
      readAddress()
    },
  }: Readonly<{ replace?: boolean; open?: () => void }> = {},
): void {
  if (isHeld(to.split(/[?#]/, 1)[0]!)) guard!(open)
  else open()
}

const isHeld = (next: string) => guard && next !== path.peek()

/** Handles clicks on links within the console. Other links, and those for a new tab, are left to the browser. */
export function followLinks(): void {
  addEventListener('popstate', goBack)
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = (event.target as Element).closest?.('a')
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
    if (!`${link.pathname}/`.startsWith(`${root}/`)) return
    event.preventDefault()
    navigate(link.pathname.slice(root.length) + link.search + link.hash)
  })
}

/** The browser has changed the address already: while a guard asks, the address is set back to the shown page. */
function goBack(): void {
  if (isHeld(readPath())) {
    history.pushState(null, '', hrefOf(path.peek() + fragment.peek()))
    guard!(() => history.back())
  } else readAddress()
}

function readAddress(): void {
  path.value = readPath()
  fragment.value = location.hash
}

function readPath(): string {
  return location.pathname.startsWith(root) ? location.pathname.slice(root.length) || '/' : '/'
}
