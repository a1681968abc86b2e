import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const storageName = 'cartage.theme'

export const theme = signal<Theme>(readTheme())

export function setTheme(next: Theme): void {
  theme.value = next
  try {
    if (next === 'system') localStorage.removeItem(storageName)
    else localStorage.setItem(storageName, next)
  } catch {
    // Then it is only for this visit.
  }
  showTheme()
}

export function showTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
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
