import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { isReachable } from '../api/connection.ts'
import { followJobs } from '../api/follow-jobs.ts'
import { isNothingKept } from '../api/kept.ts'
import { adminToken, endExpiry, isExpired, session } from '../api/session.ts'
import { changeSettings, openSettings } from '../api/settings.ts'
import { listenForFiles } from '../parts/browser/files.ts'
import { hrefOf, navigate, path, segmentsOf } from '../parts/browser/route.ts'
import { type Command, useCommands } from '../parts/commands.ts'
import { Dialog } from '../parts/controls/dialog.tsx'
import { Menu } from '../parts/controls/menu.tsx'
import { LiveRegion } from '../parts/live.tsx'
import { useLoaded } from '../parts/loading.tsx'
import { Toasts } from '../parts/toast.tsx'
import { Brand } from './brand.tsx'
import { checkAndSignIn } from './check-key.ts'
import type { OverlayName } from './overlays.tsx'
import { shownPages, whyNot } from './pages.ts'
import { ShownPage } from './shown-page.tsx'
import { SignInForm, SignInPage } from './sign-in.tsx'
import { ThemeMenu, UserMenu } from './top-menus.tsx'

export function Frame() {
  // It opens for people with and without a key.
  if (segmentsOf(path.value)[0] === 'invitation') return <InvitationPage />
  const isSignedIn = session.value !== null || adminToken.value !== null
  return (
    <>
      {isSignedIn ? <SignedIn /> : <SignInPage />}
      {isExpired.value && isSignedIn && (
        <Dialog title="Your key is no longer accepted" onClose={() => endExpiry(false)}>
          <p>Sign in again to continue where you were.</p>
          <SignInForm />
        </Dialog>
      )}
      <Toasts />
      <LiveRegion />
    </>
  )
}

/** Its code gets the frame's functions as props, so that the first load stays one file. */
function InvitationPage() {
  const { value } = useLoaded(() => import('./invitation.tsx'), [])
  return (
    <>
      <main class="sign-in">
        <div class="panel">
          <h1>
            <Brand />
          </h1>
          {value && <value.Invitation signIn={checkAndSignIn} />}
        </div>
      </main>
      <Toasts />
      <LiveRegion />
    </>
  )
}

function SignedIn() {
  const opened = useSignal<OverlayName | null>(null)
  const overlays = useLoaded(() => import('./overlays.tsx'), [])
  const Overlay = overlays.value?.Overlay
  const open = (what: OverlayName) => () => {
    opened.value = what
  }
  const close = () => {
    opened.value = null
  }
  useCommands([
    ...shownPages().map(
      ({ name, label, key }): Command => ({
        name: `Go to ${label}`,
        keys: `g ${key}`,
        run: () => navigate(`/${name}`),
      }),
    ),
    { name: 'Find a command, page or table', keys: 'Ctrl+k', run: open('palette') },
    { name: 'Show keyboard shortcuts', keys: '?', run: open('shortcuts') },
  ])
  useLastPage()
  const username = session.value?.username
  useEffect(() => void openSettings(), [username])
  const isMaster = session.value?.isMaster ?? false
  useEffect(() => (isMaster ? followJobs() : undefined), [isMaster])
  return (
    <div class="frame">
      <a class="skip button" href="#main">
        Skip to content
      </a>
      <Top openPalette={open('palette')} openShortcuts={open('shortcuts')} />
      <Bars />
      <main class="main" id="main" tabIndex={-1}>
        <ShownPage />
      </main>
      {session.value !== null && <FileDrop />}
      {opened.value && Overlay && <Overlay name={opened.value} close={close} />}
    </div>
  )
}

/** `/console/` shows the page that was open last, or the first page. */
function useLastPage(): void {
  const current = path.value
  useEffect(() => {
    if (segmentsOf(current).length > 0) {
      if (isPage(current)) void changeSettings({ lastPage: current })
      return
    }
    void openSettings().then(({ lastPage = '' }) => {
      if (segmentsOf(path.peek()).length > 0) return
      navigate(isPage(lastPage) ? lastPage : `/${shownPages()[0]?.name}`, { replace: true })
    })
  }, [current])
}

const isPage = (to: string) => shownPages().some(({ name }) => name === segmentsOf(to)[0])

function Top({
  openPalette,
  openShortcuts,
}: Readonly<{ openPalette: () => void; openShortcuts: () => void }>) {
  return (
    <header class="top">
      <Brand />
      <Navigation />
      <PagesMenu />
      <span class="grow wide-only" />
      <button
        type="button"
        class="quiet muted wide-only"
        title="Find a command, page or table"
        onClick={openPalette}
      >
        Find <kbd>Ctrl K</kbd>
      </button>
      <button
        type="button"
        class="quiet square wide-only"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={openShortcuts}
      >
        ?
      </button>
      <ThemeMenu />
      <UserMenu openPalette={openPalette} />
    </header>
  )
}

function Navigation() {
  const [current] = segmentsOf(path.value)
  return (
    <nav aria-label="Pages">
      {shownPages().map((page) => (
        <a
          key={page.name}
          href={hrefOf(`/${page.name}`)}
          aria-current={page.name === current ? 'page' : undefined}
          title={whyNot(page)}
        >
          {page.label}
          {page.badge?.() && <span class="badge info">{page.badge()}</span>}
        </a>
      ))}
    </nav>
  )
}

/** The navigation on a narrow screen. */
function PagesMenu() {
  const [name] = segmentsOf(path.value)
  const current = shownPages().find((page) => page.name === name)
  return (
    <span class="narrow-only">
      <Menu
        label={`${current?.label ?? 'Pages'} ▾`}
        title={`Page: ${current?.label ?? 'none'}`}
        className="quiet"
        items={shownPages().map((page) => {
          const why = whyNot(page)
          return {
            label: [page.label, page.badge?.()].filter(Boolean).join(' '),
            isOn: page === current,
            run: () => navigate(`/${page.name}`),
            ...(why ? { why } : {}),
          }
        })}
      />
    </span>
  )
}

function Bars() {
  return (
    <div>
      {!isReachable.value && (
        <div class="bar" role="status">
          The service does not answer. Retrying. What you type is saved.
        </div>
      )}
      {isNothingKept.value && (
        <div class="bar" role="status">
          This browser stores nothing: drafts and history are lost when you close this tab.
        </div>
      )}
    </div>
  )
}

/** A file dropped on any page opens the upload page. */
export function FileDrop() {
  const [isOver, setOver] = useState(false)
  useLayoutEffect(() => listenForFiles(setOver, () => navigate('/upload')), [])
  return isOver ? <div class="drop-hint">Drop the file to upload it</div> : null
}
