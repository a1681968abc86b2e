import { commands } from '../parts/commands.ts'
import { Dialog } from '../parts/controls/dialog.tsx'

export function ShortcutsHelp({ close }: Readonly<{ close: () => void }>) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <table class="list">
        <tbody>
          {commands.value
            .filter(({ keys }) => keys)
            .map(({ name, keys }) => (
              <tr key={name}>
                <td>{name}</td>
                <td>
                  {keys?.split(' ').map((key) => (
                    <kbd key={key}>
                      {key.length === 1
                        ? key
                        : key.replace(/\+(.)$/, (_all, last: string) => `+${last.toUpperCase()}`)}
                    </kbd>
                  ))}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </Dialog>
  )
}
