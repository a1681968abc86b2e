import { Palette } from './palette.tsx'
import { ShortcutsHelp } from './shortcuts-help.tsx'

export type OverlayName = 'palette' | 'shortcuts'

/** Dialogs that open over a page. Loaded after the sign-in, which does not need them. */
export function Overlay({ name, close }: Readonly<{ name: OverlayName; close: () => void }>) {
  return name === 'palette' ? <Palette close={close} /> : <ShortcutsHelp close={close} />
}
