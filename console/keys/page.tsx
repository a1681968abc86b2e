import { adoptStyles } from '../parts/browser/styles.ts'
import { ChangeGrants } from './change-grants.tsx'
import { KeyList } from './key-list.tsx'
import css from './keys.css' with { type: 'text' }
import { member } from './member.ts'
import { DuplicateKey, NewKey } from './new-key.tsx'
import { OneKey } from './one-key.tsx'

adoptStyles(css)

export default function KeysPage({ segments: [name, what] }: Readonly<{ segments: readonly string[] }>) {
  return (
    <div class="page">
      <div class="inside" key={`${member.value}\n${name}\n${what}`}>
        {shown(name, what)}
      </div>
    </div>
  )
}

function shown(name: string | undefined, what: string | undefined) {
  if (name === undefined) return <KeyList />
  if (name === 'new' && what === undefined) return <NewKey />
  if (what === 'grants') return <ChangeGrants name={name} />
  return what === 'duplicate' ? <DuplicateKey name={name} /> : <OneKey name={name} />
}
