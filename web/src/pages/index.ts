// Every page of the dashboard, in the order of the navigation. Adding one is an entry here and a folder beside this file.
import type {ReadonlySignal} from '@preact/signals';
import type {ComponentType} from 'preact';
import type {Right} from '../api/types';
import type {IconName} from '../ui/icons';
import {OverviewPage} from './overview/overview_page';
import {TaskPage} from './task/task_page';
import {TasksPage} from './tasks/tasks_page';

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
  {path: '/overview', title: 'Overview', needs: 'read', nav: {label: 'Overview', icon: 'overview', key: 'o'}, component: OverviewPage},
  {path: '/tasks', title: 'Tasks', needs: 'read', nav: {label: 'Tasks', icon: 'tasks', key: 't'}, component: TasksPage},
  {path: '/tasks/:id', title: 'Task', needs: 'read', component: TaskPage},
];
