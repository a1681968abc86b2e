import texts from 'guide:pages'
import { Fragment, type JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { serviceAddress } from '../parts/browser/address.ts'
import { fragment, hrefOf, pathTo } from '../parts/browser/route.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Empty } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import css from './guide.css' with { type: 'text' }
import { anchorOf, type Block, type Inline, readInlines, readMarkdown } from './markdown.ts'

adoptStyles(css)

/** The documentation for users of this version, from the folder docs. */
export default function GuidePage({ segments }: Readonly<{ segments: readonly string[] }>) {
  const [name = 'README'] = segments
  const text = texts[name]
  useEffect(() => {
    const shown = document.getElementById(decodeURIComponent(fragment.value.slice(1)))
    if (shown) shown.scrollIntoView()
    else document.querySelector('.page')?.scrollTo(0, 0)
  }, [name, fragment.value])
  return (
    <div class="page">
      <article class="inside guide">
        <p class="small row">
          {name !== 'README' && <a href={hrefOf('/guide')}>Guide</a>}
          <a href={`${serviceAddress}/docs`}>API reference</a>
        </p>
        {text === undefined ? (
          <Empty>The guide has no page “{name}”.</Empty>
        ) : (
          readMarkdown(text)
            .filter((block) => block.kind !== 'paragraph' || !/^!\[[^\]]*\]\([^)]*\)$/.test(block.text))
            .map((block, at) => <Shown key={at} number={at + 1} block={block} />)
        )}
      </article>
    </div>
  )
}

/** `number`: distinguishes the parts of a page, for screen readers. */
function Shown({ number, block }: Readonly<{ number: number; block: Block }>) {
  switch (block.kind) {
    case 'heading': {
      const Heading = `h${block.level}` as 'h1'
      return (
        <Heading id={anchorOf(block.text)}>
          <Text of={block.text} />
        </Heading>
      )
    }
    case 'code':
      return <CodeBlock label={`Example ${number}`} text={block.text} />
    case 'table':
      return (
        <Table label={`Table ${number}`} head={block.head}>
          {block.rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, at) => (
                <td key={at}>
                  <Text of={cell} />
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )
    case 'list': {
      const List = block.isNumbered ? 'ol' : 'ul'
      return (
        <List>
          {block.items.map((item, at) => (
            <li key={at}>
              <Text of={item} />
            </li>
          ))}
        </List>
      )
    }
    case 'paragraph':
      return (
        <p>
          <Text of={block.text} />
        </p>
      )
  }
}

const Text = ({ of: text }: Readonly<{ of: string }>) => (
  <>
    {readInlines(text).map((part, at) => (
      <Fragment key={at}>{shownPart(part)}</Fragment>
    ))}
  </>
)

function shownPart({ kind, text, to = '' }: Inline): JSX.Element | string | null {
  if (kind === 'code') return <code>{text}</code>
  if (kind === 'strong') return <strong>{text}</strong>
  if (kind === 'image') return null
  if (kind === 'text') return text
  const href = addressOf(to)
  const label = <Text of={text} />
  return href === undefined ? label : <a href={href}>{label}</a>
}

/** The address of a link in the documentation; undefined for a page outside the guide. */
function addressOf(to: string): string | undefined {
  if (/^https?:/.test(to)) return to
  if (to.startsWith('#')) return to
  const [, name, anchor = ''] = /(?:^|\/)([\w-]+)\.md(#.*)?$/.exec(to) ?? []
  return name && name in texts ? hrefOf(pathTo('guide', name) + anchor) : undefined
}
