import type { ReactNode } from 'react';
import { useBusiness } from '../../frame/business.tsx';
import { Page } from '../../frame/page.tsx';

export default function Home(): ReactNode {
  const business = useBusiness();
  return <Page title="Home">{business?.name}</Page>;
}
