<?php
/** Calls the merchant API. Whatever is no success is a Failure. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Client {
	private const TIMEOUT_SECONDS  = 15;
	/** Of a question that a page of the shop waits for, and that is not needed. */
	private const BRIEF_SECONDS    = 4;
	private const ANSWER_BYTES_MAX = 1000000;

	/** An invoice's name in a path. */
	private const SLUG = '/^[A-Za-z0-9_-]{1,64}$/';

	/** The created invoice. The same key never makes a second one. */
	public static function create_invoice( array $body, string $idempotency_key ): array {
		return self::invoice_in( self::call( 'POST', 'invoice', $body, $idempotency_key ) );
	}

	public static function invoice( string $id ): array {
		return self::invoice_in( self::call( 'GET', 'invoice/' . self::name( $id ) ) );
	}

	/** An invoice, or null when there is none of that name any more. */
	public static function known( string $id ): ?array {
		try {
			return self::invoice( $id );
		} catch ( Failure $failure ) {
			if ( 404 === $failure->status ) {
				return null;
			}
			throw $failure;
		}
	}

	public static function delete_invoice( string $id ): void {
		self::call( 'DELETE', 'invoice/' . self::name( $id ) );
	}

	/** The withdrawal that waits for the operator's approval. `$amount` '' sends everything back. */
	public static function refund( string $invoice, string $address, string $amount, string $idempotency_key ): array {
		$body = array( 'address' => $address ) + ( '' === $amount ? array() : array( 'amount' => $amount ) );
		$done = self::call( 'POST', 'invoice/' . self::name( $invoice ) . '/refund', $body, $idempotency_key );
		if ( ! is_string( $done['id'] ?? null ) || ! is_string( $done['address'] ?? null ) ) {
			throw new Failure( __( 'The answer about the refund names no withdrawal.', 'countinghouse' ) );
		}
		return $done;
	}

	/** The least amount of an invoice in a currency, or '' where the service does not say. */
	public static function minimum( string $currency ): string {
		$answer = self::call( 'GET', 'minimum?currency=' . rawurlencode( $currency ), null, '', self::BRIEF_SECONDS );
		return is_string( $answer['amount'] ?? null ) ? $answer['amount'] : '';
	}

	/** The symbols that the business takes. */
	public static function cryptos(): array {
		return array_column( self::call( 'GET', 'cryptos' ), 'symbol' );
	}

	private static function name( string $id ): string {
		if ( 1 !== preg_match( self::SLUG, $id ) ) {
			throw new Failure( __( 'That is no invoice.', 'countinghouse' ), 404 );
		}
		return $id;
	}

	/** An invoice with the fields that are relied on. */
	private static function invoice_in( array $answer ): array {
		foreach ( array( 'id', 'invoice_url', 'amount', 'currency', 'status' ) as $field ) {
			if ( ! is_string( $answer[ $field ] ?? null ) ) {
				/* translators: %s: the name of a field */
				throw new Failure( sprintf( __( 'The answer about the invoice lacks "%s".', 'countinghouse' ), $field ) );
			}
		}
		self::name( $answer['id'] );
		$scheme = wp_parse_url( $answer['invoice_url'], PHP_URL_SCHEME );
		if ( 'https' !== $scheme && 'http' !== $scheme ) {
			throw new Failure( __( 'The payment page has no web address.', 'countinghouse' ) );
		}
		return $answer;
	}

	private static function call( string $method, string $path, ?array $body = null, string $idempotency_key = '', int $seconds = self::TIMEOUT_SECONDS ): array {
		$base = Settings::base_url();
		$key  = Settings::api_key();
		if ( '' === $base || '' === $key ) {
			throw new Failure( __( 'The address of the service or the API key is missing.', 'countinghouse' ) );
		}
		$headers = array(
			'MB-API-KEY' => $key,
			'Accept'     => 'application/json',
		);
		if ( null !== $body ) {
			$headers['Content-Type'] = 'application/json';
		}
		if ( '' !== $idempotency_key ) {
			$headers['Idempotency-Key'] = $idempotency_key;
		}
		$answer = wp_remote_request(
			$base . '/api/v1/merchant/' . $path,
			array(
				'method'              => $method,
				'headers'             => $headers,
				'timeout'             => $seconds,
				// a redirection would carry the key elsewhere
				'redirection'         => 0,
				'limit_response_size' => self::ANSWER_BYTES_MAX,
			) + ( null === $body ? array() : array( 'body' => wp_json_encode( $body ) ) )
		);
		if ( is_wp_error( $answer ) ) {
			/* translators: %s: what went wrong */
			throw new Failure( sprintf( __( 'The service did not answer: %s', 'countinghouse' ), $answer->get_error_message() ) );
		}
		return self::read( (int) wp_remote_retrieve_response_code( $answer ), wp_remote_retrieve_body( $answer ) );
	}

	private static function read( int $status, string $text ): array {
		$json = json_decode( $text, true );
		if ( $status >= 200 && $status < 300 && is_array( $json ) ) {
			return $json;
		}
		$said   = is_array( $json ) ? ( $json['message'] ?? $json['error'] ?? '' ) : '';
		$amount = is_array( $json ) ? ( $json['errors']['amount'][0] ?? '' ) : '';
		/* translators: 1: an HTTP status, 2: the service's own words */
		$message = sprintf( __( 'The service answered %1$d: %2$s', 'countinghouse' ), $status, is_string( $said ) ? $said : '' );
		throw new Failure( $message, $status, is_string( $amount ) ? $amount : '' );
	}
}
