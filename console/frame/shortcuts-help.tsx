import { commands, shownKeys } from '../parts/commands.ts'
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
                  {keys &&
                    shownKeys(keys).map((key) => (
                      <span key={key}>
                        <kbd>{key}</kbd>{' '}
                      </span>
                    ))}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </Dialog>
  )
}
