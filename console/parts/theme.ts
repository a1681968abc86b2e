import { computed, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const storageName = 'cartage.theme'

export const theme = signal<Theme>(readTheme())

const darkSystem = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(darkSystem.matches)
darkSystem.addEventListener('change', () => {
  isSystemDark.value = darkSystem.matches
})

/** What is seen now, also when the system changes it: for what is painted and not styled. */
export const shownTheme = computed<'light' | 'dark'>(() =>
  theme.value === 'system' ? (isSystemDark.value ? 'dark' : 'light') : theme.value,
)

export function setTheme(next: Theme): void {
  try {
    if (next === 'system') localStorage.removeItem(storageName)
    else localStorage.setItem(storageName, next)
  } catch {
    // Then it is only for this visit.
  }
  showTheme(next)
  theme.value = next
}

export function showTheme(shown: Theme = theme.value): void {
  if (shown === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = shown
}

/** A colour of tokens.css as it is now, for what is painted and not styled: the map, the chart. */
export function colourOf(token: string): string {
  const probe = document.createElement('i')
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
