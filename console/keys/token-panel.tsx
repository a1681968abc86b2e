import { useEffect, useState } from 'preact/hooks'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { defaultToken } from '../../src/contract/key-names.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { copyText } from '../parts/controls/copy-button.tsx'
import { Tabs, tabPanel } from '../parts/controls/tabs.tsx'
import { readyLines } from './ready-lines.ts'

const shownMs = 30_000

export function TokenPanel({ of: key, statement }: Readonly<{ of: KeyDocument; statement: string }>) {
  const [isShown, setShown] = useState(false)
  const [isWithToken, setWithToken] = useState(false)
  const [chosen, choose] = useState('curl')
  useEffect(() => {
    if (!isShown) return
    const timer = setTimeout(() => setShown(false), shownMs)
    return () => clearTimeout(timer)
  }, [isShown])
  const token = isWithToken ? key.token : undefined
  const lines = readyLines({ username: key.user.username, statement, token })
  const line = lines.find(({ name }) => name === chosen)!
  return (
    <section class="panel stack" aria-labelledby="token">
      <h2 id="token">Token</h2>
      <div class="row">
        <code class="token" data-testid="token">
          {isShown ? key.token : masked(key.token)}
        </code>
        <button type="button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide' : 'Show'}
        </button>
        <button type="button" onClick={() => copyText(key.token, 'Token copied')}>
          Copy token
        </button>
        {isShown && <span class="muted small">hidden after 30 s</span>}
      </div>
      <div class="row">
        <Tabs
          id="lines"
          label="Examples"
          tabs={lines.map(({ name, label }) => ({ name, label }))}
          chosen={chosen}
          choose={choose}
        />
        <span class="grow" />
        <label class="check">
          <input type="checkbox" checked={isWithToken} onChange={() => setWithToken(!isWithToken)} />
          Include the token
        </label>
      </div>
      <div {...tabPanel('lines', chosen)}>
        <CodeBlock label={`Example for ${line.label}`} text={line.text} />
      </div>
      {!isWithToken && (
        <p class="muted small">
          The example reads the token from the variable CARTAGE_API_KEY, which keeps it out of shell history
          and logs. To set it in a shell: <code>read -rs CARTAGE_API_KEY</code>, paste the token, Enter.
        </p>
      )}
    </section>
  )
}

/** Enough to distinguish tokens. `default_public` is not a secret. */
const masked = (token: string) =>
  token === defaultToken ? token : `${token.slice(0, 8)}••••••••${token.slice(-4)}`
