<?php
/** What did not work, in words for the merchant. The API key is never in them. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Failure extends \Exception {
	/** The status where somebody else works on the order. */
	public const BUSY = -1;

	/** The HTTP status that the service answered with; 0 when it did not answer. */
	public $status;
	/** The service's message about the amount that was asked for, or ''. A payer may read it. */
	public $about_amount;

	public function __construct( string $message, int $status = 0, string $about_amount = '' ) {
		parent::__construct( $message );
		$this->status       = $status;
		$this->about_amount = $about_amount;
	}
}
