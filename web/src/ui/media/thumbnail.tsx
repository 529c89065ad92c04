import { Film, ImageOff } from 'lucide-react';
import { useState } from 'react';
import { type Media, sameOriginUrl } from '../../api/media.ts';
import classes from './thumbnail.module.css';

type ThumbnailProps = { readonly media: Pick<Media, 'name' | 'mimeType' | 'thumbnailUrl'> };

/** The thumbnail of an image, or an icon for a video. It is decorative, because the name is next to it. */
export function Thumbnail({ media: { mimeType, thumbnailUrl } }: ThumbnailProps) {
  const [isGone, setGone] = useState(false);
  const Sign = mimeType.startsWith('video/') ? Film : ImageOff;
  return (
    <div className={classes.frame}>
      {thumbnailUrl !== null && !isGone ? (
        <img src={sameOriginUrl(thumbnailUrl)} alt="" loading="lazy" onError={() => setGone(true)} />
      ) : (
        <Sign size={32} aria-hidden="true" />
      )}
    </div>
  );
}
