import { forgetThisComputer } from '../api/kept.ts'
import { session, signOut } from '../api/session.ts'
import { navigate } from '../parts/browser/route.ts'
import { setTheme, type Theme, theme } from '../parts/browser/theme.ts'
import { Menu } from '../parts/controls/menu.tsx'

const themes: readonly (readonly [Theme, string])[] = [
  ['system', 'Same as system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

export function ThemeMenu() {
  return (
    <Menu
      label="◐"
      title="Theme"
      className="quiet square"
      items={themes.map(([name, label]) => ({
        label,
        isOn: theme.value === name,
        run: () => setTheme(name),
      }))}
    />
  )
}

export function UserMenu({ openPalette }: Readonly<{ openPalette: () => void }>) {
  const { username = 'operator', keyName } = session.value ?? {}
  const role = username === 'operator' ? '' : keyName ? `with the ${keyName} key` : 'without a key'
  return (
    <Menu
      label={
        <>
          <span class="user-name">{username}</span> ▾
        </>
      }
      title={`${username} ${role}`}
      className="quiet"
      items={[
        { note: `${username} ${role}` },
        { label: 'Find a command, page or table', run: openPalette },
        'line',
        { label: 'Sign out', run: () => leave(false) },
        { label: 'Sign out and forget this computer', isDanger: true, run: () => leave(true) },
      ]}
    />
  )
}

/** With `isForgetting`, also deletes drafts, history and job ids from this browser. */
const leave = (isForgetting: boolean) =>
  navigate('/', {
    open: async () => {
      if (isForgetting) await forgetThisComputer()
      navigate('/', { replace: true })
      signOut()
    },
  })
