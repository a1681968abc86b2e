import type { ComponentChildren } from 'preact'

export type Tab<Name extends string> = Readonly<{ name: Name; label: ComponentChildren }>

/** A row of tabs, moved with arrow keys. The caller renders the panel, with the attributes of `tabPanel`. */
export function Tabs<Name extends string>({
  id,
  label,
  tabs,
  chosen,
  choose,
}: Readonly<{
  id: string
  label: string
  tabs: readonly Tab<Name>[]
  chosen: Name
  choose: (name: Name) => void
}>) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const at = tabs.findIndex(({ name }) => name === chosen)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (!next) return
    event.preventDefault()
    choose(next.name)
    const list = event.currentTarget as HTMLElement
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus())
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ name, label: text }) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}-${name}`}
          aria-selected={name === chosen}
          aria-controls={name === chosen ? `${id}-panel` : undefined}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}

/** The attributes of the element that shows the chosen tab. */
export const tabPanel = (id: string, chosen: string) => ({
  role: 'tabpanel' as const,
  id: `${id}-panel`,
  'aria-labelledby': `${id}-${chosen}`,
})
