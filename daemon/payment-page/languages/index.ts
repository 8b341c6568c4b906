/** The languages of the payment page under their own names, in the order in which they are offered. */
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en, type Words } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { hi } from './hi.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { ko } from './ko.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import { ru } from './ru.ts';
import { tr } from './tr.ts';
import { uk } from './uk.ts';
import { zh } from './zh.ts';

/** `tag`: the region used if the payer names none. */
type Language = { language: string; tag: string; name: string; words: Words };

export const LANGUAGES: readonly Language[] = [
  { language: 'en', tag: 'en-GB', name: 'English', words: en },
  { language: 'de', tag: 'de-DE', name: 'Deutsch', words: de },
  { language: 'fr', tag: 'fr-FR', name: 'Français', words: fr },
  { language: 'es', tag: 'es-ES', name: 'Español', words: es },
  { language: 'pt', tag: 'pt-BR', name: 'Português', words: pt },
  { language: 'it', tag: 'it-IT', name: 'Italiano', words: it },
  { language: 'tr', tag: 'tr-TR', name: 'Türkçe', words: tr },
  { language: 'pl', tag: 'pl-PL', name: 'Polski', words: pl },
  { language: 'ru', tag: 'ru-RU', name: 'Русский', words: ru },
  { language: 'uk', tag: 'uk-UA', name: 'Українська', words: uk },
  { language: 'ar', tag: 'ar-EG', name: 'العربية', words: ar },
  { language: 'hi', tag: 'hi-IN', name: 'हिन्दी', words: hi },
  { language: 'zh', tag: 'zh-CN', name: '中文', words: zh },
  { language: 'ja', tag: 'ja-JP', name: '日本語', words: ja },
  { language: 'ko', tag: 'ko-KR', name: '한국어', words: ko },
];
