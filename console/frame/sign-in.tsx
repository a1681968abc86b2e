import { useState } from 'preact/hooks'
import { adminToken, session } from '../api/session.ts'
import { Field } from '../parts/controls/field.tsx'
import { Tabs, tabPanel } from '../parts/controls/tabs.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { Brand } from './brand.tsx'
import { browsePublicData, checkAndSignIn, checkOperator } from './check-key.ts'

type Way = 'key' | 'operator'

const ways = [
  { name: 'key', label: 'With a key' },
  { name: 'operator', label: 'As operator' },
] as const

export function SignInPage() {
  return (
    <main class="sign-in">
      <div class="panel">
        <h1>
          <Brand />
        </h1>
        <SignInForm />
      </div>
    </main>
  )
}

/** Also shown in the dialog that opens when a key stops working. */
export function SignInForm({ first }: Readonly<{ first?: Way }>) {
  const [way, choose] = useState<Way>(first ?? (adminToken.value && !session.value ? 'operator' : 'key'))
  return (
    <div class="sign-in-form">
      <Tabs id="sign-in" label="How to sign in" tabs={ways} chosen={way} choose={choose} />
      <div {...tabPanel('sign-in', way)}>{way === 'key' ? <KeyForm /> : <OperatorForm />}</div>
    </div>
  )
}

function KeyForm() {
  const [username, setUsername] = useState(session.value?.username ?? '')
  const [token, setToken] = useState('')
  const { error, isBusy, submit } = useSubmit()
  const hasName = username.trim() !== ''
  const signIn = () => checkAndSignIn(username.trim(), token.trim())
  return (
    <form onSubmit={(event) => submit(event, signIn)}>
      <Field label="User">
        {(props) => (
          <input
            {...props}
            name="username"
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            required
            value={username}
            onInput={(event) => setUsername(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="API key"
        help="The token of a key. It stays in this tab and is sent only to this service."
      >
        {(props) => (
          <input
            {...props}
            name="password"
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        )}
      </Field>
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'Signing in…' : 'Sign in'}
      </button>
      <button
        type="button"
        class="quiet"
        disabled={isBusy || !hasName}
        onClick={(event) => submit(event, () => browsePublicData(username.trim()))}
      >
        Browse public data without a key
      </button>
    </form>
  )
}

function OperatorForm() {
  const [token, setToken] = useState('')
  const { error, isBusy, submit } = useSubmit()
  return (
    <form onSubmit={(event) => submit(event, () => checkOperator(token.trim()))}>
      <Field label="Admin token" help="The file admin-token in the data directory, or CARTAGE_ADMIN_TOKEN.">
        {(props) => (
          <input
            {...props}
            name="admin-token"
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        )}
      </Field>
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'Signing in…' : 'Sign in as operator'}
      </button>
    </form>
  )
}

/** The state of a form, and a function that runs what a button of it starts. */
function useSubmit() {
  const { error, isBusy, begin } = useWork()
  const submit = (event: Event, act: () => Promise<void>) => {
    event.preventDefault()
    void begin(act)
  }
  return { error, isBusy, submit }
}
