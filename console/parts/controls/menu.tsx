import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

export type MenuItem =
  | Readonly<{ label: ComponentChildren; run: () => void; isDanger?: boolean; why?: string; isOn?: boolean }>
  | Readonly<{ note: ComponentChildren }>
  | 'line'

/** A button that opens a list of commands. `why` disables an item and tells the reason. */
export function Menu({
  label,
  title,
  items,
  className = '',
}: Readonly<{ label: ComponentChildren; title?: string; items: readonly MenuItem[]; className?: string }>) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={className}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={title}
        title={title}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && <OpenMenu id={id} anchor={button.current!} items={items} close={close} />}
    </>
  )
}

type OpenProps = Readonly<{ id: string; anchor: HTMLElement; items: readonly MenuItem[]; close: () => void }>

function OpenMenu({ id, anchor, items, close }: OpenProps) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const menu = element.current!
    menu.showPopover()
    place(menu, anchor)
    buttonsIn(menu)[0]?.focus()
    const closeOutside = (event: Event) => {
      if (!menu.contains(event.target as Node) && !anchor.contains(event.target as Node)) close()
    }
    document.addEventListener('pointerdown', closeOutside, true)
    addEventListener('resize', close)
    return () => {
      document.removeEventListener('pointerdown', closeOutside, true)
      removeEventListener('resize', close)
    }
  }, [])
  return (
    <div
      ref={element}
      id={id}
      class="menu"
      role="menu"
      popover="manual"
      onKeyDown={(event) => move(event, close)}
    >
      {items.map((item, index) => (
        <Item key={index} item={item} close={close} />
      ))}
    </div>
  )
}

function Item({ item, close }: Readonly<{ item: MenuItem; close: () => void }>) {
  if (item === 'line') return <hr />
  if ('note' in item) return <div class="note">{item.note}</div>
  const { label, run, isDanger, why, isOn } = item
  const act = () => {
    if (why) return
    close()
    run()
  }
  return (
    <button
      type="button"
      {...(isOn === undefined ? { role: 'menuitem' } : { role: 'menuitemcheckbox', 'aria-checked': isOn })}
      class={isDanger ? 'danger' : ''}
      tabIndex={-1}
      aria-disabled={why ? 'true' : undefined}
      title={why}
      onClick={act}
    >
      {isOn !== undefined && <span aria-hidden="true">{isOn ? '✓' : '\u2003'}</span>}
      <span>
        {label}
        {why && <span class="small muted"> — {why}</span>}
      </span>
    </button>
  )
}

function move(event: KeyboardEvent, close: () => void): void {
  if (event.key === 'Escape' || event.key === 'Tab') {
    event.preventDefault()
    close()
    return
  }
  const buttons = buttonsIn(event.currentTarget as HTMLElement)
  const at = buttons.indexOf(document.activeElement as HTMLElement)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1 + buttons.length, Home: 0, End: buttons.length - 1 }[
    event.key
  ]
  if (next === undefined) return
  event.preventDefault()
  buttons[next % buttons.length]?.focus()
}

const buttonsIn = (menu: HTMLElement) => [...menu.querySelectorAll<HTMLElement>('button')]

function place(menu: HTMLElement, anchor: HTMLElement): void {
  const { left, right, top, bottom } = anchor.getBoundingClientRect()
  const { width, height } = menu.getBoundingClientRect()
  const fitsRight = left + width <= innerWidth - 8
  menu.style.left = `${Math.max(8, fitsRight ? left : right - width)}px`
  menu.style.top = `${bottom + height + 4 <= innerHeight ? bottom + 4 : Math.max(8, top - height - 4)}px`
}
