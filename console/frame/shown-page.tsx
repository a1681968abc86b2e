import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { hrefOf, path, segmentsOf } from '../parts/browser/route.ts'
import { tell } from '../parts/live.tsx'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { type Page, type PageProps, pages, shownPages, whyNot } from './pages.ts'
import { SignInForm } from './sign-in.tsx'

/** The page of the current path. Its code is loaded when it is first opened. */
export function ShownPage() {
  const [name, ...segments] = segmentsOf(path.value)
  const page = shownPages().find((each) => each.name === name)
  if (name === undefined) return null
  if (!page) return <UnknownPage of={pages.find((each) => each.name === name)} />
  const reason = whyNot(page)
  if (reason) return <Empty>This page needs the Master key. Sign in with it to continue.</Empty>
  return (
    <Boundary key={page.name}>
      <LoadedPage page={page} segments={segments} />
    </Boundary>
  )
}

/** A page that needs the other sign-in (account or operator), or an unknown path. */
function UnknownPage({ of: page }: Readonly<{ of: Page | undefined }>) {
  if (page) {
    const isOperators = page.needs === 'operator'
    return (
      <div class="page">
        <div class="panel sign-in-form">
          <h1>{page.label}</h1>
          <p>{isOperators ? 'This page needs the admin token.' : 'This page needs a user and a key.'}</p>
          <SignInForm first={isOperators ? 'operator' : 'key'} />
        </div>
      </div>
    )
  }
  return (
    <Empty>
      <p>Page not found.</p>
      <p>
        {shownPages().map(({ name, label }) => (
          <a key={name} href={hrefOf(`/${name}`)}>
            {label}{' '}
          </a>
        ))}
      </p>
    </Empty>
  )
}

const loaded = new Map<string, ComponentType<PageProps>>()

function LoadedPage({ page, segments }: PageProps & Readonly<{ page: Page }>) {
  const [error, setError] = useState<unknown>(undefined)
  const [, setRound] = useState(0)
  const Content = loaded.get(page.name)
  useEffect(() => {
    document.title = `${page.label} · Cartage`
    tell(page.label)
    if (loaded.has(page.name)) return
    page.load().then(({ default: component }) => {
      loaded.set(page.name, component)
      setRound((former) => former + 1)
    }, setError)
  }, [page])
  if (error !== undefined) return <Outdated error={error} />
  return Content ? (
    <Content segments={segments} />
  ) : (
    <div class="page">
      <Skeleton />
    </div>
  )
}

/** After an update of the service the files of an older page are gone. */
function Outdated({ error }: Readonly<{ error: unknown }>) {
  return (
    <div class="page">
      <ErrorNotice
        title="This page could not be loaded. The service may have been updated."
        error={error}
        acts={
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        }
      />
    </div>
  )
}

/** An error in one page does not break the console. */
class Boundary extends Component<Readonly<{ children: ComponentChildren }>, { error?: unknown }> {
  override state: { error?: unknown } = {}

  override componentDidCatch(error: unknown): void {
    console.error(error)
    this.setState({ error })
  }

  override render() {
    return this.state.error === undefined ? this.props.children : <Outdated error={this.state.error} />
  }
}
