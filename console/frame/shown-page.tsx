import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { tell } from '../parts/live.tsx'
import { Skeleton } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { hrefOf, path, segmentsOf } from '../parts/route.ts'
import { type Page, type PageProps, pages, shownPages, whyNot } from './pages.ts'
import { SignInForm } from './sign-in.tsx'

/** The page of the address: loaded when it is first opened, and taken down when another is. */
export function ShownPage() {
  const [name, ...segments] = segmentsOf(path.value)
  const page = shownPages().find((each) => each.name === name)
  if (name === undefined) return null
  if (!page) return <UnknownPage of={pages.find((each) => each.name === name)} />
  const reason = whyNot(page)
  if (reason) return <Empty>{`${reason}: sign in with the Master key of the account.`}</Empty>
  return (
    <Boundary key={page.name}>
      <LoadedPage page={page} segments={segments} />
    </Boundary>
  )
}

/** It is that of the operator, for one who is signed in to an account, or the other way round; or there is none. */
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
      <p>There is no such page.</p>
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

/** The files of a page are gone when the service was updated since this one was opened. */
function Outdated({ error }: Readonly<{ error: unknown }>) {
  return (
    <div class="page">
      <ErrorNotice
        title="This page could not be loaded. The service may have been updated."
        error={error}
        acts={
          <button type="button" onClick={() => location.reload()}>
            Load anew
          </button>
        }
      />
    </div>
  )
}

/** A mistake in a page takes that page down, not the console. */
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
