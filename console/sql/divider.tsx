import { changeSettings, settings } from '../api/settings.ts'

const [least, most, usual] = [15, 85, 40]

/** The height of the editor, in percent. */
export const editorShare = () => settings.value.editorShare ?? usual

/** Resizes the editor and the results, by dragging or with arrow keys. Its position is stored. */
export function Divider() {
  const move = (share: number) =>
    void changeSettings({ editorShare: Math.round(Math.min(Math.max(share, least), most)) })
  const press = (event: KeyboardEvent) => {
    const share = editorShare()
    const next = { ArrowUp: share - 5, ArrowDown: share + 5, Home: least, End: most }[event.key]
    if (next === undefined) return
    event.preventDefault()
    move(next)
  }
  const drag = (event: PointerEvent) => {
    const divider = event.currentTarget as HTMLElement
    const { top } = divider.previousElementSibling!.getBoundingClientRect()
    const { bottom } = divider.nextElementSibling!.getBoundingClientRect()
    divider.setPointerCapture(event.pointerId)
    divider.onpointermove = ({ clientY }) => move(((clientY - top) / (bottom - top)) * 100)
    divider.onpointerup = () => {
      divider.onpointermove = null
    }
    event.preventDefault()
  }
  return (
    <div
      class="divider"
      role="separator"
      tabIndex={0}
      aria-label="Height of the editor"
      aria-orientation="horizontal"
      aria-valuenow={editorShare()}
      aria-valuemin={least}
      aria-valuemax={most}
      onKeyDown={press}
      onPointerDown={drag}
    />
  )
}
