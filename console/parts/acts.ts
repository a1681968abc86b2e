import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** Something a person can do here: by its keys, and by its name in the palette and in the list of keys. */
export type Act = Readonly<{
  name: string
  /** `Ctrl+Enter`, `Alt+1`, `g s` (one after the other), `/`. On a Mac, Ctrl is also Cmd. */
  keys?: string
  run: () => void
}>

/** All acts of what is on the screen, the newest part of it last. */
export const acts = signal<readonly Act[]>([])

/** The acts of a part of the page, for as long as it is there. */
export function useActs(mine: readonly Act[]): void {
  const latest = useRef(mine)
  latest.current = mine
  const names = mine.map(({ name, keys }) => `${name}\0${keys}`).join('\n')
  useEffect(() => {
    const registered = latest.current.map(({ name, keys }, place) => ({
      name,
      ...(keys ? { keys } : {}),
      run: () => latest.current[place]?.run(),
    }))
    acts.value = [...acts.value, ...registered]
    return () => {
      acts.value = acts.value.filter((act) => !registered.includes(act))
    }
  }, [names])
}

/** Runs the act of a key. Keys without Ctrl or Alt belong to the field that has the focus. */
export function listenForKeys(): void {
  let first = ''
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || document.querySelector('dialog[open]:not([data-takes-keys])')) return
    const pressed = nameOf(event)
    if (isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey) return
    const act = findAct(`${first} ${pressed}`) ?? findAct(pressed)
    first = /^[a-z]$/.test(pressed) ? pressed : ''
    if (!act) return
    event.preventDefault()
    first = ''
    act.run()
  })
}

const findAct = (keys: string) => acts.value.findLast((act) => act.keys?.toLowerCase() === keys.toLowerCase())

function nameOf(event: KeyboardEvent): string {
  // With Alt, a Mac types another character.
  const key =
    event.altKey && /^(Digit|Key)/.test(event.code) ? event.code.replace(/^(Digit|Key)/, '') : event.key
  const modifiers = [
    event.ctrlKey || event.metaKey ? 'Ctrl+' : '',
    event.altKey ? 'Alt+' : '',
    // The shift of a `?` is part of the character.
    event.shiftKey && (key.length > 1 || event.ctrlKey || event.metaKey) ? 'Shift+' : '',
  ]
  return modifiers.join('') + (key.length === 1 ? key.toLowerCase() : key)
}

function isTyping({ target }: Event): boolean {
  const element = (target as Element | null)?.shadowRoot?.activeElement ?? (target as HTMLElement | null)
  return (
    element instanceof HTMLElement &&
    (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName))
  )
}
