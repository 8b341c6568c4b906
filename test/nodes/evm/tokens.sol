// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Tokens that behave like those that shops are paid with, faults included, and a contract that pays natively from inside.

abstract contract Balances {
    event Transfer(address indexed from, address indexed to, uint256 value);

    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        totalSupply += value;
        emit Transfer(address(0), to, value);
    }

    /// A balance changes without a transfer, as in tokens that count anew by themselves.
    function vanish(address from, uint256 value) external { balanceOf[from] -= value; }

    function move(address from, address to, uint256 value) internal virtual {
        require(balanceOf[from] >= value, "balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    /// Several payments in one transaction.
    function payAll(address[] calldata to, uint256[] calldata value) external {
        for (uint256 i = 0; i < to.length; i++) move(msg.sender, to[i], value[i]);
    }

    /// Several withdrawals in one transaction, as somebody makes them whom all these addresses have allowed it.
    function takeAll(address[] calldata from, uint256[] calldata value) external {
        for (uint256 i = 0; i < from.length; i++) move(from[i], msg.sender, value[i]);
    }
}

/// Tether on Ethereum: 6 decimals, and a transfer that returns nothing; it can be paused and can block addresses.
contract TetherLike is Balances {
    uint8 public constant decimals = 6;
    string public constant symbol = "USDT";
    bool public paused;
    mapping(address => bool) public isBlackListed;

    function setPaused(bool value) external { paused = value; }
    function setBlackListed(address who, bool value) external { isBlackListed[who] = value; }

    function transfer(address to, uint256 value) external {
        require(!paused && !isBlackListed[msg.sender]);
        move(msg.sender, to, value);
    }
}

/// A token as the standard has it (ERC-20, BEP-20), with as many decimals as it is made with.
contract Standard is Balances {
    uint8 public immutable decimals;
    string public symbol;

    constructor(uint8 digits, string memory name) { decimals = digits; symbol = name; }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }
}

/// A token that changes its ways: it refuses by its answer alone, and moves nothing, or it keeps a part of each transfer.
contract Moody is Balances {
    uint8 public immutable decimals;
    string public symbol;
    bool public refuses;
    uint256 public percentKept;

    constructor(uint8 digits, string memory name) { decimals = digits; symbol = name; }

    function setRefuses(bool value) external { refuses = value; }
    function setPercentKept(uint256 value) external { percentKept = value; }

    function transfer(address to, uint256 value) external returns (bool) {
        if (refuses) return false;
        uint256 kept = value * percentKept / 100;
        if (kept > 0) move(msg.sender, address(this), kept);
        move(msg.sender, to, value - kept);
        return true;
    }
}

/// Keeps a hundredth of each transfer: less arrives than was sent.
contract FeeOnTransfer is Balances {
    uint8 public constant decimals = 6;
    string public constant symbol = "FEE";
    address public immutable collector;

    constructor() { collector = msg.sender; }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, collector, value / 100);
        move(msg.sender, to, value - value / 100);
        return true;
    }
}

/// Pays the native coin from inside a call, as exchanges do.
contract Payer {
    function payAll(address[] calldata to, uint256[] calldata value) external payable {
        for (uint256 i = 0; i < to.length; i++) {
            (bool ok, ) = to[i].call{value: value[i]}("");
            require(ok);
        }
    }
}

/// Sends events that look like a transfer of a token that somebody else made.
contract Forger {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function forge(address to, uint256 value) external { emit Transfer(msg.sender, to, value); }

    /// Many transfers of one unit of a token to one address.
    function flood(TetherLike token, address to, uint256 times) external {
        for (uint256 i = 0; i < times; i++) token.transfer(to, 1);
    }
}
