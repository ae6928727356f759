import {useMemo, useState} from 'preact/hooks';
import type {Task} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {bytes} from '../../lib/format';
import {member, parseJsonText, pretty, textOf, type JsonNode} from '../../lib/json_text';
import {copyText} from '../../ui/command';
import {Empty} from '../../ui/empty';
import {Icon} from '../../ui/icons';
import {JsonTree} from '../../ui/json_tree';

const RAW_SHOWN = 200_000;

/** The value of a member, or null if it is unset: null itself counts when `null_values` names it. */
export function setMember(root: JsonNode | null, text: string, name: string): JsonNode | null {
  const node = member(root, name);
  if (!node || node.kind !== 'null') return node;
  const nulls = member(root, 'null_values');
  return nulls?.kind === 'array' && nulls.items.some(item => textOf(text, item) === JSON.stringify(name)) ? node : null;
}

function Value({title, node, text}: {title: string; node: JsonNode; text: string}) {
  const [isRaw, setRaw] = useState(false);
  const source = textOf(text, node);
  const raw = () => showHidden(pretty(text, node)).replaceAll('␊', '\n');
  return (
    <section class="card">
      <header>
        <h2 class="grow">{title} <span class="faint small-note">{bytes(new Blob([source]).size)}</span></h2>
        <div class="segmented" role="group" aria-label={`Form of ${title}`}>
          <button aria-pressed={!isRaw} onClick={() => setRaw(false)}>Tree</button>
          <button aria-pressed={isRaw} onClick={() => setRaw(true)}>Text</button>
        </div>
        <button class="icon-button" title="Copy as it is stored" aria-label={`Copy ${title}`} onClick={() => void copyText(source)}><Icon name="copy" /></button>
      </header>
      <div class="body">
        {isRaw ? <pre class="raw-json">{raw().slice(0, RAW_SHOWN)}{source.length > RAW_SHOWN ? '\n…' : ''}</pre> : <JsonTree node={node} source={text} />}
      </div>
    </section>
  );
}

function Prompt({title, text}: {title: string; text: string}) {
  return (
    <section class="card">
      <header><h2 class="grow">{title}</h2>
        <button class="icon-button" title="Copy" aria-label={`Copy ${title}`} onClick={() => void copyText(text)}><Icon name="copy" /></button></header>
      <pre class="body prompt-text">{showHidden(text).replaceAll('␊', '\n').replaceAll('␉', '\t')}</pre>
    </section>
  );
}

const VALUES = [['payload', 'Payload'], ['result', 'Result'], ['checkpoint', 'Checkpoint'], ['fallback_result', 'Fallback result']] as const;

export function DataTab({task, text}: {task: Task; text: string}) {
  const root = useMemo(() => parseJsonText(text), [text]);
  const values = VALUES.map(([name, title]) => ({title, node: setMember(root, text, name)})).filter(one => one.node !== null);
  if (!values.length && !task.prompt && !task.system_prompt)
    return <Empty icon="tasks" title="It has neither prompt nor payload" command={`drover enqueue ${task.type} --prompt 'What to do'`} />;
  return (
    <div class="tab-stack">
      {task.fallback && <p class="notice"><Icon name="info" />The result is the fallback that was declared for a missed deadline.</p>}
      {task.prompt && <Prompt title="Prompt" text={task.prompt} />}
      {task.system_prompt && <Prompt title="System prompt" text={task.system_prompt} />}
      {values.map(({title, node}) => <Value key={title} title={title} node={node!} text={text} />)}
    </div>
  );
}

const REPORT_PARTS = [
  ['why', 'Why'], ['what', 'What'], ['tradeoffs', 'Trade-offs'], ['risks', 'Risks'], ['test_results', 'Test results'], ['next_steps', 'Next steps'],
] as const;

export function reportOf(text: string): JsonNode | null {
  const report = member(member(parseJsonText(text), 'result'), 'decision_report');
  return report?.kind === 'object' ? report : null;
}

function Part({node, text}: {node: JsonNode; text: string}) {
  if (node.kind === 'string') return <p class="report-text">{showHidden(node.value).replaceAll('␊', '\n')}</p>;
  if (node.kind === 'array' && node.items.every(item => item.kind === 'string'))
    return <ul class="report-list">{node.items.map((item, at) => <li key={at}>{item.kind === 'string' ? showHidden(item.value) : ''}</li>)}</ul>;
  return <JsonTree node={node} source={text} />;
}

export function ReportTab({text}: {text: string}) {
  const report = useMemo(() => reportOf(text), [text]);
  if (!report) {
    return (
      <Empty icon="tasks" title="There is no decision report">
        A result may have a member <code>decision_report</code>: why, what, trade-offs, risks, test results and next steps. A type can require it
        with <code>decision_report: required</code>.
      </Empty>
    );
  }
  return (
    <div class="tab-stack report">
      {REPORT_PARTS.map(([name, title]) => {
        const node = member(report, name);
        return node && <section key={name}><h2>{title}</h2><Part node={node} text={text} /></section>;
      })}
    </div>
  );
}
