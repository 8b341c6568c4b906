<?php
/**
 * Receives events. A signed event only says which invoice to look at: what follows for the order is decided by the invoice
 * as the merchant API has it now, so that an event that comes twice or late does no harm.
 */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Events {
	private const SPACE = 'countinghouse/v1';
	private const ROUTE = '/events';

	public static function listen(): void {
		add_action(
			'rest_api_init',
			static function () {
				register_rest_route(
					self::SPACE,
					self::ROUTE,
					array(
						'methods'             => 'POST',
						'callback'            => array( self::class, 'take' ),
						// whoever has the endpoint's secret: the signature says so
						'permission_callback' => '__return_true',
					)
				);
			}
		);
	}

	/** Where events are sent. */
	public static function url(): string {
		return rest_url( self::SPACE . self::ROUTE );
	}

	/** 204: taken. 401: not signed. 503: to be sent again later. */
	public static function take( \WP_REST_Request $request ): \WP_REST_Response {
		if ( ! Signature::is_secret( Settings::secret() ) ) {
			return self::answer( 503, 'The endpoint has no secret yet' );
		}
		$body    = $request->get_body();
		$id      = (string) $request->get_header( 'webhook-id' );
		$genuine = Signature::is_genuine(
			Settings::secret(),
			$id,
			(string) $request->get_header( 'webhook-timestamp' ),
			(string) $request->get_header( 'webhook-signature' ),
			$body,
			time()
		);
		if ( ! $genuine ) {
			return self::answer( 401, 'The signature does not verify' );
		}
		update_option( Settings::LAST_EVENT, time(), false );
		$event = json_decode( $body, true );
		$type  = is_array( $event ) && is_string( $event['type'] ?? null ) ? $event['type'] : '';
		$data  = is_array( $event ) && is_array( $event['data'] ?? null ) ? $event['data'] : array();
		try {
			if ( 0 === strpos( $type, 'invoice.' ) ) {
				self::tell_order( $type, $data, $id );
			} elseif ( 0 === strpos( $type, 'withdrawal.' ) ) {
				Refunds::take( $type, $data );
			}
		} catch ( Failure $failure ) {
			Settings::log( "Event $type: " . $failure->getMessage() );
			return self::answer( 503, 'Not now' );
		}
		return self::answer( 204 );
	}

	private static function tell_order( string $type, array $data, string $event_id ): void {
		$invoice = is_string( $data['id'] ?? null ) ? $data['id'] : '';
		$order   = (int) ( $data['metadata'][ Orders::METADATA ] ?? 0 );
		if ( $order > 0 && '' !== $invoice && 'invoice.created' !== $type ) {
			Orders::refresh( $order, $invoice, $type, $event_id );
		}
	}

	private static function answer( int $status, string $message = '' ): \WP_REST_Response {
		return new \WP_REST_Response( '' === $message ? null : array( 'message' => $message ), $status );
	}
}
