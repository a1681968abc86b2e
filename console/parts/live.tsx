import { signal } from '@preact/signals'

const said = signal('')

/** Tells people who do not see the screen what has changed on it. */
export function tell(text: string): void {
  // The same sentence again is a change too.
  said.value = said.value === text ? `${text}\u00a0` : text
}

export function LiveRegion() {
  return (
    <div class="hidden-text" role="status" aria-live="polite">
      {said.value}
    </div>
  )
}
