import { Anchor, Text } from '@mantine/core';
import { CornerUpLeft, Forward, MapPin, Megaphone, ShoppingCart } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './inbox.module.css';
import type { Message } from './use-live.ts';

type Content = NonNullable<Message['content']>;
type MessageContentProps = {
  readonly content: Content;
  /** The text of the message that this one answers; undefined if it is not shown here. */
  readonly quotedText: string | undefined;
};

/** What a person quoted, filled in, ordered or shared, above the text of the message. */
export function MessageContent({ content, quotedText }: MessageContentProps) {
  const { t } = useTranslation('inbox');
  const { replyTo, forwarded, referral, product, flow, order, location } = content;
  return (
    <>
      {replyTo && <Line icon={CornerUpLeft}>{quotedText || t('content.replyTo')}</Line>}
      {forwarded && <Line icon={Forward}>{t('content.forwarded')}</Line>}
      {referral && (
        <Line icon={Megaphone}>
          {t(referral.sourceType === 'post' ? 'content.post' : 'content.ad')}{' '}
          <Link url={referral.sourceUrl}>{referral.headline || referral.sourceId}</Link>
        </Line>
      )}
      {product && <Line icon={ShoppingCart}>{t('content.product', { id: product.productId })}</Line>}
      {flow && <Fields values={flow.response} />}
      {order && <Fields values={Object.fromEntries(order.items.map(lineOf))} />}
      {location && (
        <Line icon={MapPin}>
          <Link url={mapOf(location)}>{t('content.map')}</Link>
        </Line>
      )}
    </>
  );
}

const lineOf = ({ productId, quantity, itemPrice, currency }: NonNullable<Content['order']>['items'][number]) =>
  [productId, `${quantity} × ${itemPrice} ${currency}`] as const;

const mapOf = ({ latitude, longitude }: NonNullable<Content['location']>): string =>
  `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`;

function Line({ icon: Sign, children }: { readonly icon: typeof MapPin; readonly children: ReactNode }) {
  return (
    <Text size="xs" className={`${classes.quoted} foreign-text`} lineClamp={2}>
      <Sign size={12} aria-hidden="true" /> {children}
    </Text>
  );
}

/** A link of the network; anything but a web address is text. */
function Link({ url, children }: { readonly url: string; readonly children: ReactNode }) {
  return /^https?:\/\//.test(url) ? (
    <Anchor href={url} target="_blank" rel="noreferrer" size="xs">
      {children}
    </Anchor>
  ) : (
    children
  );
}

/** The fields of a form, or the lines of an order. */
function Fields({ values }: { readonly values: Readonly<Record<string, unknown>> }) {
  return (
    <dl className={`${classes.fields} foreign-text`}>
      {Object.entries(values).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
