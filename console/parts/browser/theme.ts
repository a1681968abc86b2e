import { computed, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const storageName = 'cartage.theme'

export const theme = signal<Theme>(readTheme())

const darkSystem = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(darkSystem.matches)
darkSystem.addEventListener('change', () => {
  isSystemDark.value = darkSystem.matches
})

/** The theme in effect, for the map and the chart, which are not styled by CSS. Follows the system. */
export const shownTheme = computed<'light' | 'dark'>(() =>
  theme.value === 'system' ? (isSystemDark.value ? 'dark' : 'light') : theme.value,
)

export function setTheme(next: Theme): void {
  try {
    if (next === 'system') localStorage.removeItem(storageName)
    else localStorage.setItem(storageName, next)
  } catch {
    // Without storage the choice lasts until the page is reloaded.
  }
  showTheme(next)
  theme.value = next
}

export function showTheme(shown: Theme = theme.value): void {
  if (shown === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = shown
}

/** The value of a colour of tokens.css, for what CSS does not style: in the current theme, or in the given one. */
export function colourOf(token: string, scheme: 'light' | 'dark' | '' = ''): string {
  const probe = document.createElement('i')
  probe.style.colorScheme = scheme
  probe.style.color = `var(--${token})`
  document.body.append(probe)
  const colour = getComputedStyle(probe).color
  probe.remove()
  return colour
}

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(storageName)
    return kept === 'light' || kept === 'dark' ? kept : 'system'
  } catch {
    return 'system'
  }
}
