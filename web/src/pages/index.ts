// Every page of the dashboard, in the order of the navigation. Adding one is an entry here and a folder beside this file.
import type {ReadonlySignal} from '@preact/signals';
import type {ComponentType} from 'preact';
import type {Right} from '../api/types';
import {needsCount} from '../live/needs';
import type {IconName} from '../ui/icons';
import {AlertsPage} from './alerts/alerts_page';
import {ConversationPage, ConversationsPage} from './conversations/conversations_page';
import {CostsPage} from './costs/costs_page';
import {DlqPage} from './dlq/dlq_page';
import {DlqGroupPage} from './dlq/group_page';
import {NeedsPage} from './needs/needs_page';
import {OverviewPage} from './overview/overview_page';
import {QuestionsPage} from './questions/questions_page';
import {QueuesPage} from './queues/queues_page';
import {SessionPage, SessionsPage} from './sessions/sessions_page';
import {SettingsPage} from './settings/settings_page';
import {TaskPage} from './task/task_page';
import {TasksPage} from './tasks/tasks_page';
import {WorkersPage} from './workers/workers_page';

export interface PageProps {
  /** The named parts of the path. */
  params: Record<string, string>;
}

export interface Page {
  /** "/tasks/:id"; the query and the fragment belong to the page. */
  path: string;
  title: string;
  /** Who lacks this right does not see the page. */
  needs?: Right;
  /** An entry in the navigation; `key` goes there after "g". */
  nav?: {label: string; icon: IconName; key: string; badge?: ReadonlySignal<number>};
  component: ComponentType<PageProps>;
}

export const pages: readonly Page[] = [
  {path: '/', title: 'Needs you', needs: 'read', nav: {label: 'Needs you', icon: 'inbox', key: 'n', badge: needsCount}, component: NeedsPage},
  {path: '/questions', title: 'Questions', needs: 'read', component: QuestionsPage},
  {path: '/overview', title: 'Overview', needs: 'read', nav: {label: 'Overview', icon: 'overview', key: 'o'}, component: OverviewPage},
  {path: '/tasks', title: 'Tasks', needs: 'read', nav: {label: 'Tasks', icon: 'tasks', key: 't'}, component: TasksPage},
  {path: '/tasks/:id', title: 'Task', needs: 'read', component: TaskPage},
  {path: '/dlq', title: 'Dead letters', needs: 'read', nav: {label: 'Dead letters', icon: 'dead', key: 'd'}, component: DlqPage},
  {path: '/dlq/:fingerprint', title: 'Dead letters', needs: 'read', component: DlqGroupPage},
  {path: '/queues', title: 'Queues and gates', needs: 'read', nav: {label: 'Queues and gates', icon: 'queues', key: 'q'}, component: QueuesPage},
  {path: '/workers', title: 'Workers', needs: 'operate', nav: {label: 'Workers', icon: 'workers', key: 'w'}, component: WorkersPage},
  {path: '/sessions', title: 'Sessions', needs: 'read', nav: {label: 'Sessions', icon: 'sessions', key: 'e'}, component: SessionsPage},
  {path: '/sessions/:owner/:name', title: 'Session', needs: 'read', component: SessionPage},
  {path: '/conversations', title: 'Conversations', needs: 'produce', nav: {label: 'Conversations', icon: 'conversations', key: 'v'}, component: ConversationsPage},
  {path: '/conversations/:owner/:key', title: 'Conversation', needs: 'produce', component: ConversationPage},
  {path: '/alerts', title: 'Alerts', needs: 'operate', nav: {label: 'Alerts', icon: 'alerts', key: 'a'}, component: AlertsPage},
  {path: '/costs', title: 'Costs', needs: 'read', nav: {label: 'Costs', icon: 'costs', key: 'c'}, component: CostsPage},
  {path: '/settings', title: 'Settings', nav: {label: 'Settings', icon: 'settings', key: 's'}, component: SettingsPage},
];
