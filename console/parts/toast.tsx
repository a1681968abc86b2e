import { signal } from '@preact/signals'
import { tell } from './live.tsx'

type Toast = Readonly<{ id: number; text: string }>

const toasts = signal<readonly Toast[]>([])
let lastId = 0

/** Confirms briefly that something was done. Use a Notice for what must be read. */
export function toast(text: string): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-2), { id, text }]
  tell(text)
  setTimeout(() => {
    toasts.value = toasts.value.filter((each) => each.id !== id)
  }, 3_500)
}

export function Toasts() {
  return (
    <section class="toasts" aria-label="Notifications">
      {toasts.value.map(({ id, text }) => (
        <div class="toast" key={id}>
          {text}
        </div>
      ))}
    </section>
  )
}
