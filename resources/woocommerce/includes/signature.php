<?php
/** The signature of an event, by the Standard Webhooks specification. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Signature {
	private const AGE_SECONDS_MAX = 300;
	private const KEY_BYTES_MIN   = 24;

	/** Whether a body was signed with the endpoint's secret within the last minutes. `$now`: seconds since 1970. */
	public static function is_genuine( string $secret, string $id, string $at, string $signatures, string $body, int $now ): bool {
		$key = self::key( $secret );
		if ( '' === $key || '' === $id || 1 !== preg_match( '/^\d{1,12}$/', $at ) ) {
			return false;
		}
		if ( abs( $now - (int) $at ) > self::AGE_SECONDS_MAX ) {
			return false;
		}
		$expected = 'v1,' . base64_encode( hash_hmac( 'sha256', "$id.$at.$body", $key, true ) );
		foreach ( explode( ' ', $signatures ) as $given ) {
			if ( hash_equals( $expected, $given ) ) {
				return true;
			}
		}
		return false;
	}

	/** Whether a text is a secret as `countinghouse endpoint add` prints it. */
	public static function is_secret( string $secret ): bool {
		return '' !== self::key( $secret );
	}

	private static function key( string $secret ): string {
		if ( 0 !== strpos( $secret, 'whsec_' ) ) {
			return '';
		}
		$key = base64_decode( substr( $secret, strlen( 'whsec_' ) ), true );
		return false === $key || strlen( $key ) < self::KEY_BYTES_MIN ? '' : $key;
	}
}
