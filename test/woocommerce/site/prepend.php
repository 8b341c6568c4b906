<?php
/** Before every script: WordPress is a folder of links, and without this it would look for its configuration where they lead. */

define( 'ABSPATH', getenv( 'SHOP_FOLDER' ) . '/' );
