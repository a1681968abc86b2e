import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** A command: run by its shortcut, or by its name in the palette. */
export type Command = Readonly<{
  name: string
  /** `Ctrl+Enter`, `Alt+1`, `/`, or two keys in a row: `g s`. On a Mac, Cmd works as Ctrl. */
  keys?: string
  /** What the palette searches, if it is more than the name. In lower case. */
  searched?: string
  /** The editor handles these keys while it has the focus. They are only shown. */
  isOfEditor?: boolean
  run: () => void
}>

/** Keys as shown: `Alt+N`, not `Alt+n`. Two keys in a row stay apart. */
export const shownKeys = (keys: string): readonly string[] =>
  keys.split(' ').map((key) => key.replace(/\+(.)$/, (_all, last: string) => `+${last.toUpperCase()}`))

/** All commands of the components on the screen, in the order in which these were mounted. */
export const commands = signal<readonly Command[]>([])

/** Registers the commands of a component while it is mounted. */
export function useCommands(mine: readonly Command[]): void {
  const latest = useRef(mine)
  latest.current = mine
  const names = mine.map(({ name, keys }) => `${name}\0${keys}`).join('\n')
  useEffect(() => {
    const registered: readonly Command[] = latest.current.map(
      ({ name, keys, isOfEditor = false }, place) => ({
        name,
        ...(keys ? { keys } : {}),
        isOfEditor,
        run: () => latest.current[place]?.run(),
      }),
    )
    commands.value = [...commands.value, ...registered]
    return () => {
      commands.value = commands.value.filter((command) => !registered.includes(command))
    }
  }, [names])
}

/** Runs commands by their shortcuts. In an input, only those with Ctrl or Alt. */
export function listenForKeys(): void {
  let first = ''
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || document.querySelector('dialog[open]:not([data-takes-keys])')) return
    const pressed = nameOf(event)
    if (isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey) return
    const command = findCommand(`${first} ${pressed}`) ?? findCommand(pressed)
    first = /^[a-z]$/.test(pressed) ? pressed : ''
    if (!command) return
    event.preventDefault()
    first = ''
    command.run()
  })
}

const findCommand = (keys: string) =>
  commands.value.findLast(
    ({ keys: own, isOfEditor }) => !isOfEditor && own?.toLowerCase() === keys.toLowerCase(),
  )

function nameOf(event: KeyboardEvent): string {
  // On a Mac, Alt changes the typed character.
  const key =
    event.altKey && /^(Digit|Key)/.test(event.code) ? event.code.replace(/^(Digit|Key)/, '') : event.key
  const modifiers = [
    event.ctrlKey || event.metaKey ? 'Ctrl+' : '',
    event.altKey ? 'Alt+' : '',
    // Shift is part of a character such as `?`.
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
