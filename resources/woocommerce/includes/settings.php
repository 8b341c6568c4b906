<?php
/** The gateway's settings, as WooCommerce stores them. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Settings {
	public const GATEWAY = 'countinghouse';
	public const OPTION  = 'woocommerce_' . self::GATEWAY . '_settings';
	/** When the last event with a good signature came, in seconds since 1970. */
	public const LAST_EVENT = 'countinghouse_last_event';
	/** The shop's address when the settings were saved, as a hash: who copies a site replaces addresses in its database. */
	public const SITE = 'countinghouse_site';
	private const DAYS_MAX  = 30;

	private static function text( string $name ): string {
		$stored = get_option( self::OPTION, array() );
		return is_array( $stored ) && is_string( $stored[ $name ] ?? null ) ? trim( $stored[ $name ] ) : '';
	}

	public static function api_key(): string {
		return self::text( 'api_key' );
	}

	public static function secret(): string {
		return self::text( 'endpoint_secret' );
	}

	public static function title(): string {
		$title = self::text( 'title' );
		return '' === $title ? __( 'Cryptocurrency', 'countinghouse' ) : $title;
	}

	public static function description(): string {
		return self::text( 'description' );
	}

	/** How many days after today an invoice is due. */
	public static function days(): int {
		return max( 1, min( self::DAYS_MAX, (int) self::text( 'days' ) ) );
	}

	/** The address of the service without a path, or '' where it is none that a key may be sent to. */
	public static function base_url(): string {
		return self::checked_url( self::text( 'base_url' ) );
	}

	/**
	 * An address as it is stored: scheme, host and port. '' when it is no web address, or one that would carry the API key
	 * over the Internet in the clear.
	 */
	public static function checked_url( string $typed ): string {
		$parts = wp_parse_url( trim( $typed ) );
		if ( ! is_array( $parts ) || empty( $parts['host'] ) || isset( $parts['user'] ) || isset( $parts['query'] ) ) {
			return '';
		}
		$scheme = strtolower( $parts['scheme'] ?? '' );
		$host   = strtolower( $parts['host'] );
		if ( 'https' !== $scheme && ! ( 'http' === $scheme && self::is_near( $host ) ) ) {
			return '';
		}
		return $scheme . '://' . $host . ( isset( $parts['port'] ) ? ':' . $parts['port'] : '' );
	}

	/** Whether a host is this machine or one of a private network: a name without a dot, or an address that is not public. */
	private static function is_near( string $host ): bool {
		$address = trim( $host, '[]' );
		if ( false === filter_var( $address, FILTER_VALIDATE_IP ) ) {
			return false === strpos( $host, '.' );
		}
		$public = FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE;
		return false === filter_var( $address, FILTER_VALIDATE_IP, $public );
	}

	/** Called where the settings were saved: they are for this shop. */
	public static function keep_site(): void {
		update_option( self::SITE, self::site() );
	}

	/**
	 * Whether this shop is a copy of the one that the settings were saved in: it has the same key and orders, and another address. Two shops
	 * must not both tell customers of one payment, and a copy must not end invoices and ask for refunds of the shop that sells.
	 */
	public static function is_copy(): bool {
		$kept = get_option( self::SITE, '' );
		return '' !== $kept && $kept !== self::site();
	}

	/** Without the scheme and www., which a shop may change. Other plug-ins change `home_url`, by language for one. */
	private static function site(): string {
		return hash( 'sha256', (string) preg_replace( '#^https?://(www\.)?#', '', strtolower( untrailingslashit( get_option( 'home' ) ) ) ) );
	}

	/** Writes to WooCommerce's log. Never give it a key or a secret. */
	public static function log( string $message ): void {
		wc_get_logger()->error( $message, array( 'source' => self::GATEWAY ) );
	}
}
