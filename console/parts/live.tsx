import { signal } from '@preact/signals'

const said = signal('')

/** Announces a text to screen readers. */
export function tell(text: string): void {
  // A repeated text must differ, or it is not announced.
  said.value = said.value === text ? `${text}\u00a0` : text
}

export function LiveRegion() {
  return (
    <div class="hidden-text" role="status" aria-live="polite">
      {said.value}
    </div>
  )
}
