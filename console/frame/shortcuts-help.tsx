import { acts } from '../parts/acts.ts'
import { Dialog } from '../parts/dialog.tsx'

export function ShortcutsHelp({ close }: Readonly<{ close: () => void }>) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <table class="list">
        <tbody>
          {acts.value
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
